//! File tools below one folder: a file is read before it is changed, and no path leads out.
//!
//! Run it with `cargo run -p vertebra-examples --bin files`.

use std::{error::Error, fs};

use vertebra::{prelude::*, testing::Script};
use vertebra_kit::files::Files;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::create_dir_all(folder.path().join("secrets"))?;
    fs::write(folder.path().join("greeting.txt"), "Hello,\nwordl!\n")?;
    fs::write(folder.path().join("secrets/key"), "Hello, thief\n")?;
    std::os::unix::fs::symlink("/etc", folder.path().join("shortcut"))?;
    std::os::unix::fs::symlink("secrets/key", folder.path().join("harmless.txt"))?;

    let fix = r#"{"path": "greeting.txt", "old_string": "wordl", "new_string": "world"}"#;
    let model = Script::new()
        .call("edit_file", fix)
        .call("read_file", r#"{"path": "greeting.txt"}"#)
        .call("edit_file", fix)
        // Ways out, and ways to what is denied.
        .calls([
            ("read_file", r#"{"path": "/etc/passwd"}"#),
            ("read_file", r#"{"path": "shortcut/passwd"}"#),
            ("write_file", r##"{"path": ".git/hooks/pre-commit", "content": "#!/bin/sh", "create_parents": true}"##),
            ("read_file", r#"{"path": "harmless.txt"}"#),
            ("grep", r#"{"pattern": "Hello"}"#),
        ])
        .say("The greeting is right now.");

    // In what is printed, the folder has the same name every time.
    let name = folder.path().display().to_string();
    let named = move |text: &str| text.replace(&name, "/folder");

    let agent = Agent::builder(model)
        .with(Files::new(folder.path())?.deny("secrets/**")?)
        .watch(AfterToolUse, async move |cx| {
            println!("{} {}: {}", cx.tool, cx.result.status, named(cx.result.output.trim_end()));
            // People are shown what the model need not read again.
            if let Some(diff) = cx.result.data["diff"].as_str() {
                print!("{diff}");
            }
            Ok(())
        })
        .build()?;

    let run = agent.run("Correct the greeting").await?;
    println!("{}", run.text);
    Ok(())
}
