//! The contract of each version is the one that clients were made from.
//!
//! `proto/vertebra/v1/descriptor.binpb` is what was promised. After an addition:
//! `UPDATE_EXPECTED=1 cargo nextest run -p vertebra-server contract`. What breaks a promise is refused there too: it goes
//! into a new folder, `proto/vertebra/v2`, beside the old one.

use std::{collections::BTreeMap, fs, path::Path};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use vertebra_server::proto::DESCRIPTOR;

use super::changes::incompatible;

#[test]
fn the_contract_is_what_was_promised_to_clients() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    for (version, now) in versions() {
        let path = proto.join(&version).join("descriptor.binpb");
        let recorded = fs::read(&path).unwrap_or_default();
        let before = FileDescriptorSet::decode(&*recorded).expect("a descriptor");
        let wrong = incompatible(&before, &now);
        assert!(
            wrong.is_empty(),
            "{version} was promised otherwise; what cannot stay goes into a folder of a new version:\n{}",
            wrong.join("\n")
        );
        if now.encode_to_vec() == recorded {
            continue;
        }
        assert!(
            std::env::var_os("UPDATE_EXPECTED").is_some(),
            "{version} has something new: UPDATE_EXPECTED=1 promises it to clients"
        );
        fs::write(&path, now.encode_to_vec()).expect("the descriptor can be written");
    }
}

/// The compiled contract, without its comments, by the folder of its version.
fn versions() -> BTreeMap<String, FileDescriptorSet> {
    let all = FileDescriptorSet::decode(DESCRIPTOR).expect("a contract");
    let mut versions: BTreeMap<String, FileDescriptorSet> = BTreeMap::new();
    for file in all.file.into_iter().filter(|file| file.package().starts_with("vertebra.")) {
        let version = file.package().replace('.', "/");
        versions.entry(version).or_default().file.push(FileDescriptorProto { source_code_info: None, ..file });
    }
    for set in versions.values_mut() {
        set.file.sort_by(|one, other| one.name().cmp(other.name()));
    }
    versions
}
