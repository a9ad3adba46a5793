mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.around(BeforeToolUse, async |cx, next| next.run(cx).await);
}
