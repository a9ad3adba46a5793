//! Shell commands: the tool, the policy that judges them, the sandbox that holds them.
pub mod policy;
