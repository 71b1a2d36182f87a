// List the nodes of a dump, with the TypeScript types that sigcontract ships.
//
//   sigcontract schema sigcontract.dump --lang typescript > sigcontract.d.ts
//   sigcontract migrate server.dump.json server-3.dump.json --to-version 3
//   npm ci && npx tsc && node build/list-nodes.js server-3.dump.json
import { readFileSync } from "node:fs";
import type { Dim3, Graph, LaunchAttribute, Node, SignatureDump } from "./sigcontract.js";

/** Return a row of a table. A document that was validated with its schema may still refer to a row that is missing. */
function row<T>(table: readonly T[], index: number): T {
  const found = table[index];
  if (found === undefined) throw new RangeError(`row ${index} is missing; run: sigcontract validate`);
  return found;
}

const dims = ({ x, y, z }: Dim3): string => `${x}x${y}x${z}`;

function attribute(entry: LaunchAttribute): string {
  switch (entry.type) {
    case "number":
      return `${entry.id}=${entry.number}`;
    case "cluster_dim":
      return `${entry.id}=${dims(entry.cluster_dim)}`;
    case "raw":
      return `${entry.id}=0x${entry.raw}`;
    case "unreadable":
    case "unsupported":
      return `${entry.id} ${entry.type}`;
    default:
      return `${entry.id} ${entry.type}`;
  }
}

/** Return what a node does. The compiler refuses this function if a node type is left out: no end of it is reached. */
function line(dump: SignatureDump, node: Node): string {
  switch (node.node) {
    case "kernel": {
      const launch = row(dump.launches, node.kernel.launch);
      const { name } = row(dump.functions, launch.function);
      const attributes = launch.attributes.map((index) => attribute(row(dump.attributes, index)));
      return `kernel ${name} <<<${dims(node.kernel.grid_dim)}, ${dims(launch.block_dim)}>>> ${attributes.join(" ")}`;
    }
    case "memcpy":
      return `memcpy ${node.memcpy.width_bytes} bytes x ${node.memcpy.height} x ${node.memcpy.depth}`;
    case "memset":
      return `memset ${node.memset.width} x ${node.memset.height} of ${node.memset.element_size_bytes} bytes`;
    case "graph":
      return `graph ${node.graph.graph}`;
    case "conditional":
      return `conditional ${node.conditional.bodies?.join(" ") ?? "with unreadable bodies"}`;
    case "host":
    case "empty":
    case "wait_event":
    case "event_record":
    case "ext_semas_signal":
    case "ext_semas_wait":
    case "mem_alloc":
    case "mem_free":
    case "batch_mem_op":
      return node.node;
    case "opaque":
      return `node of type ${node.opaque.type}`;
  }
}

/** Yield for each node its dependencies and what it does. */
function* lines(dump: SignatureDump, graph: Graph): Generator<string> {
  for (const [index, reference] of graph.nodes.entries()) {
    yield `  [${index}] after [${row(graph.dependencies, index).join(" ")}]: ${line(dump, row(dump.nodes, reference))}`;
  }
}

const file = process.argv[2];
if (file === undefined) {
  console.error("usage: node build/list-nodes.js DUMP");
  process.exit(2);
}
const dump = JSON.parse(readFileSync(file, "utf8")) as SignatureDump;
if (dump.document !== "sigcontract.dump" || dump.version !== 3) {
  console.error(`${file} is no dump of version 3; run: sigcontract migrate ${file} NEW --to-version 3`);
  process.exit(1);
}
for (const { label, graph } of dump.header) {
  console.log(label);
  for (const text of lines(dump, row(dump.graphs, graph))) console.log(text);
}
