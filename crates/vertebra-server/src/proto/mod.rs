//! The gRPC contract in `proto/`, as Rust.
//!
//! The code is generated and committed, so that a build needs no Protobuf compiler. After a change of the contract, run
//! `cargo xtask proto`; a test of `xtask` fails until then.

#![expect(missing_docs, clippy::pedantic, clippy::large_enum_variant, reason = "generated")]

include!("generated/vertebra.v1.rs");

/// The descriptors of the contract, for server reflection.
pub const DESCRIPTOR: &[u8] = include_bytes!("generated/descriptor.bin");
