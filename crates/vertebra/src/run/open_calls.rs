//! Calls between the hooks before them and those after them.

use std::collections::BTreeMap;

use tokio_util::task::TaskTracker;

use crate::{
    points::events::ToolAsked,
    run::{control::Control, handle::lock},
};

/// A call between its hooks.
pub(crate) struct OpenCall {
    pub(crate) asked: ToolAsked,
    /// The attempt that the journal knows to have begun, and not to have ended.
    pub(crate) at_work: Option<AtWork>,
}

/// An attempt at a call whose tool is at work.
#[derive(Clone)]
pub(crate) struct AtWork {
    pub(crate) key: String,
    /// Those who work for it.
    pub(crate) children: TaskTracker,
}

impl AtWork {
    /// Waits for children that were cancelled to tell their ends: once the journal knows the call to be over, nobody would.
    pub(crate) async fn let_go(&self) {
        self.children.close();
        self.children.wait().await;
    }
}

impl Control {
    /// A call, under a number of its own, is between its hooks.
    pub(crate) fn open_call(&self, number: u64, asked: &ToolAsked) {
        lock(&self.open_calls).insert(number, OpenCall { asked: asked.clone(), at_work: None });
    }

    /// The tool of the call of this number is at work, or is done.
    pub(crate) fn at_work(&self, number: u64, at_work: Option<AtWork>) {
        if let Some(open) = lock(&self.open_calls).get_mut(&number) {
            open.at_work = at_work;
        }
    }

    /// [Lets go](AtWork::let_go) of the tool of the call of this number, if it is at work.
    pub(crate) async fn let_go(&self, number: u64) {
        let at_work = lock(&self.open_calls).get(&number).and_then(|open| open.at_work.clone());
        if let Some(at_work) = at_work {
            at_work.let_go().await;
        }
    }

    /// The call of this number is about to reach the hooks after it, if it was open.
    pub(crate) fn close_call(&self, number: u64) -> Option<OpenCall> {
        lock(&self.open_calls).remove(&number)
    }

    /// All calls that are still open.
    pub(crate) fn close_calls(&self) -> BTreeMap<u64, OpenCall> {
        std::mem::take(&mut *lock(&self.open_calls))
    }
}
