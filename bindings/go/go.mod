module liblock.dev/go

go 1.19
