//! The Rust code of the gRPC contract is generated and committed: it must be what the contract generates now.

use std::{
    fs,
    path::{Path, PathBuf},
};

use prost::Message as _;

use crate::repo::root;

/// The folder of the contract, and its files.
const CONTRACT: &str = "proto";
const FILES: [&str; 4] = [
    "vertebra/v1/sessions.proto",
    "vertebra/v1/hooks.proto",
    "vertebra/v1/approvals.proto",
    "vertebra/v1/records.proto",
];

/// The folder of the committed code, and its files.
const COMMITTED: &str = "crates/vertebra-server/src/proto/generated";
const GENERATED: [&str; 2] = ["vertebra.v1.rs", "descriptor.bin"];

/// With `UPDATE_EXPECTED` in the environment it writes the code instead of failing: `cargo xtask proto`.
#[test]
fn the_committed_code_is_what_the_contract_generates() {
    let fresh = generate();
    for name in GENERATED {
        let committed = root().join(COMMITTED).join(name);
        let new = fs::read(fresh.join(name)).expect("the generator writes this file");
        if fs::read(&committed).is_ok_and(|old| old == new) {
            continue;
        }
        let update = std::env::var_os("UPDATE_EXPECTED").is_some();
        assert!(update, "{COMMITTED}/{name} does not match the files in {CONTRACT}/; run `cargo xtask proto`");
        fs::write(&committed, new).expect("the file can be written");
    }
}

#[test]
fn every_file_of_the_contract_is_generated_from() {
    let folder = root().join(CONTRACT).join("vertebra/v1");
    let files = fs::read_dir(folder).expect("the contract").map(|entry| entry.expect("a file").path());
    let protos = files.filter(|path| path.extension().is_some_and(|extension| extension == "proto"));
    let names = protos.filter_map(|path| Some(format!("vertebra/v1/{}", path.file_name()?.display())));
    let mut found: Vec<String> = names.collect();
    found.sort();
    let mut expected = FILES;
    expected.sort_unstable();

    assert_eq!(found, expected);
}

/// Generates the code into a temporary folder, and returns the folder.
fn generate() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proto");
    fs::create_dir_all(&folder).expect("a folder");
    let files = protox::compile(FILES, [root().join(CONTRACT)]).expect("the contract compiles");
    fs::write(folder.join("descriptor.bin"), files.encode_to_vec()).expect("the descriptors can be written");
    let generator = tonic_prost_build::configure().build_transport(false).codec_path("crate::codec::Wire");
    generator.out_dir(&folder).compile_fds(files).expect("code is generated");
    folder
}
