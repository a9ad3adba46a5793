//! The packages for TypeScript and Python, checked and tested against the server that was just built.

use std::path::Path;

use crate::{stage::Stage, test::target_dir};

/// What has to hold for both. Each installs what it needs: Node's beside its sources, Python's beside the build products.
pub(crate) fn stages() -> Vec<Stage> {
    let target = std::path::absolute(target_dir()).unwrap_or_else(|_| target_dir());
    let server = target.join("debug").join("vertebra");
    let typescript = Path::new("sdk/typescript");
    vec![
        Stage::new("get TypeScript", "npm ci --no-audit --no-fund").within(typescript),
        Stage::new("TypeScript SDK", "npm test").env("VERTEBRA_BIN", &server).within(typescript),
        Stage::new("Python SDK", "sh sdk/python/check.sh").arg(target.join("python-sdk")).env("VERTEBRA_BIN", &server),
    ]
}
