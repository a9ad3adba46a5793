//! One run of the agent, in the order in which it is read: the loop, then what the loop does.

pub(crate) mod r#loop;

pub(crate) mod prompt;
pub(crate) mod step;

pub(crate) mod inference;

pub(crate) mod admission;
pub(crate) mod stage;
pub(crate) mod tool_use;

pub(crate) mod decision;
pub(crate) mod end;
pub(crate) mod failure;
pub(crate) mod output;
pub(crate) mod report;

pub(crate) mod control;
pub(crate) mod handle;
pub(crate) mod identity;
pub(crate) mod recorder;
