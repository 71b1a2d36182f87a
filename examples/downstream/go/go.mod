module example/list-kernels

go 1.19
