mod points;

use std::rc::Rc;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    let shared = Rc::new(1);
    hooks.on(BeforeToolUse, async move |cx| {
        cx.tool = shared.to_string();
        proceed()
    });
}
