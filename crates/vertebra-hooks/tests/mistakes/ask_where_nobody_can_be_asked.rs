mod points;

use points::ShouldContinue;
use vertebra_hooks::{Attach, HookSet, ask};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(ShouldContinue, async |_| ask("sure?"));
}
