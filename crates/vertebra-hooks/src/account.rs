//! What a hook tells of its own work, for the record: an exit code, what a program wrote, how long it took.

use std::cell::Cell;

use serde_json::Value;

thread_local! {
    static TOLD: Cell<Option<Box<Value>>> = const { Cell::new(None) };
}

/// Tells of the work of the hook that calls this: the record keeps it as [`Trace::account`](crate::Trace::account), also
/// if the hook fails afterwards. The last one counts. Outside a hook it is forgotten.
pub fn account(told: Value) {
    TOLD.set(Some(Box::new(told)));
}

/// Polls a hook, and gives back what it told. One dispatch may be inside another, so what was told before is put back.
pub(crate) fn listen<T>(poll: impl FnOnce() -> T) -> (T, Option<Box<Value>>) {
    let before = TOLD.take();
    let polled = poll();
    (polled, TOLD.replace(before))
}
