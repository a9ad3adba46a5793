mod points;

use points::ToolUse;
use vertebra_hooks::{AroundOptions, Attach, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.around(ToolUse.detached(), async |cx, next| next.run(cx).await);
}
