module liblock.dev/tests/nemesis/judge

go 1.19

require github.com/anishathalye/porcupine v1.0.3
