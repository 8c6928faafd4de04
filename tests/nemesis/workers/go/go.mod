module liblock.dev/tests/nemesis/worker

go 1.19

require liblock.dev/go v0.0.0

replace liblock.dev/go => ../../../../bindings/go
