// List the kernels of a dump, with types that openapi-generator makes of the schema. docs/schema.md has the commands.
//
//	go run . server-3.dump.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"example/list-kernels/dump"
)

// row returns a row of a table. A document of the right types may still refer to a row that is missing.
func row[T any](table []T, index int64) (*T, error) {
	if index < 0 || index >= int64(len(table)) {
		return nil, fmt.Errorf("row %d is missing; run: sigcontract validate", index)
	}
	return &table[index], nil
}

// list prints the kernels of a graph, and those of its child graphs and bodies below the node that has them.
func list(d *dump.SignatureDump, graph int64, depth int) error {
	found, err := row(d.Graphs, graph)
	if err != nil {
		return err
	}
	for _, index := range found.Nodes {
		node, err := row(d.Nodes, index)
		if err != nil {
			return err
		}
		if err := show(d, node, depth); err != nil {
			return err
		}
	}
	return nil
}

// show prints one node. Each case has the fields of its node type and no others.
func show(d *dump.SignatureDump, node *dump.Node, depth int) error {
	indent := strings.Repeat("  ", depth)
	switch node := node.GetActualInstance().(type) {
	case *dump.KernelNode:
		launch, err := row(d.Launches, node.Kernel.Launch)
		if err != nil {
			return err
		}
		function, err := row(d.Functions, launch.Function)
		if err != nil {
			return err
		}
		grid := node.Kernel.GridDim
		fmt.Printf("%skernel %s %dx%dx%d\n", indent, function.Name, grid.X, grid.Y, grid.Z)
	case *dump.ChildGraphNode:
		fmt.Printf("%sgraph\n", indent)
		return list(d, node.Graph.Graph, depth+1)
	case *dump.ConditionalNode:
		if node.Conditional.Bodies == nil {
			fmt.Printf("%sconditional, bodies unreadable\n", indent)
		}
		for _, body := range node.Conditional.Bodies {
			if body == nil {
				fmt.Printf("%sconditional, body unreadable\n", indent)
				continue
			}
			fmt.Printf("%sconditional\n", indent)
			if err := list(d, *body, depth+1); err != nil {
				return err
			}
		}
	case *dump.OpaqueNode:
		fmt.Printf("%snode of type %d\n", indent, node.Opaque.Type)
	case *dump.MemcpyNode, *dump.MemsetNode, *dump.HostNode, *dump.EmptyNode, *dump.EventWaitNode,
		*dump.EventRecordNode, *dump.ExtSemasSignalNode, *dump.ExtSemasWaitNode, *dump.MemAllocNode,
		*dump.MemFreeNode, *dump.BatchMemOpNode:
	default:
		// The generated decoder leaves a node of an unknown type empty, and reports no error.
		return fmt.Errorf("a node is of a type that the schema does not have; run: sigcontract validate")
	}
	return nil
}

func run(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var d dump.SignatureDump
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%s is no dump of version 3 (%w); run: sigcontract migrate OLD NEW --to-version 3", path, err)
	}
	if d.Document != "sigcontract.dump" || d.Version != 3 {
		return fmt.Errorf("%s is %s %d, not sigcontract.dump 3", path, d.Document, d.Version)
	}
	for _, entry := range d.Header {
		fmt.Println(entry.Label)
		if err := list(&d, entry.Graph, 1); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: list-kernels DUMP")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
