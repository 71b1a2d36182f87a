//! List the kernels of a dump, with types that openapi-generator makes of the schema. docs/schema.md has the commands.
//!
//!     cargo run server-3.dump.json

use std::error::Error;
use std::process::ExitCode;

use models::{Node, SignatureDump};

#[allow(dead_code, unused_imports)]
#[path = "../generated/src/models/mod.rs"]
mod generated;

/// The generated types refer to each other by this name.
mod models {
    pub use crate::generated::*;
    /// Row of graphs; null: unreadable. The generator would leave the null out.
    pub type NullableRow = Option<u32>;
}

/// Return a row of a table. A document of the right types may still refer to a row that is missing.
fn row<T>(table: &[T], index: u64) -> Result<&T, Box<dyn Error>> {
    let found = usize::try_from(index)
        .ok()
        .and_then(|index| table.get(index));
    found.ok_or_else(|| format!("row {index} is missing; run: sigcontract validate").into())
}

/// Print the kernels of a graph, and those of its child graphs and bodies below the node that has them.
fn list(dump: &SignatureDump, graph: u64, depth: usize) -> Result<(), Box<dyn Error>> {
    for &index in &row(&dump.graphs, graph)?.nodes {
        show(dump, row(&dump.nodes, index)?, depth)?;
    }
    Ok(())
}

/// Print one node. The compiler rejects this function if a node type is left out.
fn show(dump: &SignatureDump, node: &Node, depth: usize) -> Result<(), Box<dyn Error>> {
    let indent = "  ".repeat(depth);
    match node {
        Node::Kernel(node) => {
            let launch = row(&dump.launches, node.kernel.launch)?;
            let name = &row(&dump.functions, launch.function)?.name;
            let grid = &node.kernel.grid_dim;
            println!("{indent}kernel {name} {}x{}x{}", grid.x, grid.y, grid.z);
        }
        Node::Graph(node) => {
            println!("{indent}graph");
            list(dump, node.graph.graph, depth + 1)?;
        }
        Node::Conditional(node) => match &node.conditional.bodies {
            None => println!("{indent}conditional, bodies unreadable"),
            Some(bodies) => {
                for body in bodies {
                    match body {
                        None => println!("{indent}conditional, body unreadable"),
                        Some(graph) => {
                            println!("{indent}conditional");
                            list(dump, u64::from(*graph), depth + 1)?;
                        }
                    }
                }
            }
        },
        Node::Opaque(node) => println!("{indent}node of type {}", node.opaque.r#type),
        Node::Memcpy(_) | Node::Memset(_) | Node::Host(_) | Node::Empty(_) => {}
        Node::WaitEvent(_)
        | Node::EventRecord(_)
        | Node::ExtSemasSignal(_)
        | Node::ExtSemasWait(_) => {}
        Node::MemAlloc(_) | Node::MemFree(_) | Node::BatchMemOp(_) => {}
    }
    Ok(())
}

fn run(path: &str) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let dump: SignatureDump = serde_json::from_str(&text).map_err(|error| {
        format!("{path} is no dump of version 3 ({error}); run: sigcontract migrate OLD NEW --to-version 3")
    })?;
    if dump.version != 3 {
        return Err(format!("{path} is sigcontract.dump {}, not 3", dump.version).into());
    }
    for entry in &dump.header {
        println!("{}", entry.label);
        list(&dump, entry.graph, 1)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: list-kernels DUMP");
        return ExitCode::from(2);
    };
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
