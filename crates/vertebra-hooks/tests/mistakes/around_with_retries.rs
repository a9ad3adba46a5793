mod points;

use points::ToolUse;
use vertebra_hooks::{AroundOptions, Attach, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.around(ToolUse.named("cache").max_retries(3), async |cx, next| next.run(cx).await);
}
