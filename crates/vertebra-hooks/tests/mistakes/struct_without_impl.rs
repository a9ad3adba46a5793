mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet};

struct NoShell;

fn main() {
    let mut hooks = HookSet::new();
    hooks.add_guard(BeforeToolUse, NoShell);
}
