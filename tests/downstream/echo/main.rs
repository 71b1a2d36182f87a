//! Read a dump from standard input and write it to standard output, with the generated types.

#[allow(dead_code, unused_imports)]
#[path = "../../generated/src/models/mod.rs"]
mod generated;

mod models {
    pub use crate::generated::*;
    pub type NullableRow = Option<u32>;
}

fn main() {
    let dump: models::SignatureDump =
        serde_json::from_reader(std::io::stdin().lock()).expect("a dump");
    serde_json::to_writer(std::io::stdout().lock(), &dump).expect("standard output");
}
