//! Makes Rust of the contract, without a `protoc` binary.

use std::{env, error::Error, fs, path::Path};

use prost::Message as _;

const CONTRACT: &str = "../../proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={CONTRACT}");
    let files = ["sessions", "hooks", "approvals", "records"].map(|name| format!("vertebra/v1/{name}.proto"));
    let files = protox::compile(files, [CONTRACT])?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("descriptor.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure().build_transport(false).codec_path("crate::codec::Wire").compile_fds(files)?;
    Ok(())
}
