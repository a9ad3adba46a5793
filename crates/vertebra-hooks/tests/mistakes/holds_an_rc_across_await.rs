mod points;

use std::rc::Rc;

use points::{BeforeToolUse, tick};
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, async |_| {
        let shared = Rc::new(1);
        tick().await;
        drop(shared);
        proceed()
    });
}
