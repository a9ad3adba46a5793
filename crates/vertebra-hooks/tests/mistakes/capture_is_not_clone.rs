mod points;

use std::sync::Mutex;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    let count = Mutex::new(0);
    hooks.on(BeforeToolUse, async move |_| {
        *count.lock().unwrap() += 1;
        proceed()
    });
}
