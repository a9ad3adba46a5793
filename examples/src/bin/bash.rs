//! Commands in a sandbox: a folder that lasts from call to call, no network, no secrets, nothing written outside.
//!
//! Run it with `cargo run -p vertebra-examples --bin bash`.

use std::{error::Error, fs, path::Path};

use serde_json::json;
use vertebra::{prelude::*, testing::Script};
use vertebra_kit::bash::{Bash, Environment, Sandbox, sandbox};

fn main() -> Result<(), Box<dyn Error>> {
    // The sandbox is this program, started again: then it never comes back from here.
    sandbox::launch_if_asked();
    run()
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let root = place.path().canonicalize()?;
    furnish(&root)?;
    let calls = [
        json!({"command": "mkdir src && cd src && echo 'fn main() {}' > main.rs"}),
        json!({"command": "pwd; ls; exit 3"}),
        json!({"command": "sleep 1000 & sleep 1000", "timeout_ms": 100}),
        json!({"command": "echo \"token: ${API_TOKEN-none}\"; cat ~/.ssh/id"}),
        json!({"command": "echo oops > ../../outside.txt"}),
        json!({"command": "exec 3<>/dev/tcp/127.0.0.1/80"}),
        json!({"command": "kill -9 $PPID 2>/dev/null || echo 'still there'"}),
    ];
    let script = calls.iter().fold(Script::new(), |script, call| script.call("bash", &call.to_string()));

    let folder = |name: &str| root.join(name).display().to_string();
    let variables = [("PATH", "/usr/bin:/bin".to_owned()), ("API_TOKEN", "hunter2".to_owned())];
    let environment = Environment::default().from(variables).set("HOME", folder("home")).set("TMPDIR", folder("tmp"));
    // Not judged, so that what the sandbox does is seen: `bash_policy` shows what would be refused before.
    let bash = Bash { environment, judged: false, sandbox: Sandbox::required(), ..Bash::in_dir(root.join("project")) };

    let here = root.display().to_string();
    let agent = Agent::builder(script.say("I tried."))
        .with(bash)
        .watch(AfterToolUse, async move |cx| {
            println!("$ {}", cx.command().unwrap_or_default());
            // Where the folder is, and which shell speaks, differs from machine to machine.
            let output =
                cx.result.output.replace(&here, "").replace("/usr/bin/bash", "bash").replace("/bin/bash", "bash");
            println!("{}: {output}\n", cx.result.status);
            Ok(())
        })
        .build()?;
    println!("{}", agent.run("try this and that").await?.text);
    println!("outside.txt exists: {}", root.join("outside.txt").exists());
    Ok(())
}

/// A project, a home with a secret in it, a folder for temporary files.
fn furnish(root: &Path) -> Result<(), Box<dyn Error>> {
    for folder in ["project", "home/.ssh", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("home/.ssh/id"), "PRIVATE KEY\n")?;
    Ok(())
}
