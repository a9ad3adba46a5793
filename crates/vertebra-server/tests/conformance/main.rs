//! The contract is kept: old clients stay clients.

mod changes;
mod contract;
