// Read a dump from standard input and write it to standard output, with the generated types.
package main

import (
	"encoding/json"
	"os"

	"example/list-kernels/dump"
)

func main() {
	var d dump.SignatureDump
	if err := json.NewDecoder(os.Stdin).Decode(&d); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(d); err != nil {
		panic(err)
	}
}
