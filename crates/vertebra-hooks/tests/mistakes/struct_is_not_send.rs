mod points;

use std::rc::Rc;

use points::{BeforeToolUse, tick};
use vertebra_hooks::{Attach, HookSet, Answer, Cx, Hook, proceed};

struct Counter;

impl Hook<BeforeToolUse> for Counter {
    async fn run(&self, _cx: &mut Cx<'_, BeforeToolUse>) -> Answer<BeforeToolUse> {
        let shared = Rc::new(1);
        tick().await;
        drop(shared);
        proceed()
    }
}

fn main() {
    let mut hooks = HookSet::new();
    hooks.add_hook(BeforeToolUse, Counter);
}
