//! The contract is kept: what hooks come to is the same wherever they live, and old clients stay clients.
//!
//! The cases are files in `conformance/cases`, and a page beside them says how they are written.

mod case;
mod changes;
mod closures;
mod contract;
mod file;
mod matching;
mod remote;
