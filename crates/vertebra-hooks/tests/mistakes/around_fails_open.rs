mod points;

use points::ToolUse;
use vertebra_hooks::{AroundOptions, Attach, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.around(ToolUse.named("cache").fail_open(), async |cx, next| next.run(cx).await);
}
