module liblock/bench/peers/keyedmutex

go 1.19
