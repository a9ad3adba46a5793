mod points;

use points::ShouldContinue;
use vertebra_hooks::{Attach, HookOptions, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(ShouldContinue.named("budget").fail_ask(), async |_| proceed());
}
