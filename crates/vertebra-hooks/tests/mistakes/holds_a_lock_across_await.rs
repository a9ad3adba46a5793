mod points;

use std::sync::{Arc, Mutex};

use points::{BeforeToolUse, tick};
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    let count = Arc::new(Mutex::new(0));
    hooks.on(BeforeToolUse, async move |_| {
        let mut count = count.lock().unwrap();
        tick().await;
        *count += 1;
        proceed()
    });
}
