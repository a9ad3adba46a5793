//! `vertebra hooks new`: a hook to begin with, its entry, and a case that passes.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use vertebra::{POINTS, nearest, point_named};
use vertebra_bridge::{
    settings::{FILE_NAME, Level, parse},
    wire::{Outside, Reply, Visit, at_point},
};

use super::file::{create, replace, text_of, with_block};

/// The text that the generated hook looks for, and that the generated case has. No name has a dot in it, so no other hook
/// finds it.
fn mark(name: &str) -> String {
    format!("forbidden.{name}.example")
}

/// What to make.
#[derive(clap::Args)]
#[command(after_help = "\
Makes hooks/NAME.…, adds a [[hook]] to vertebra.toml and a case to vertebra.test.toml. What is there stays as it is.

Examples:
  vertebra hooks new no-secrets --lang python
  vertebra hooks new greet --lang sh --point SessionStart")]
pub(crate) struct Options {
    /// What it is called
    #[arg(value_name = "NAME")]
    name: String,
    /// What it is written in
    #[arg(long, value_enum)]
    lang: Lang,
    /// Where it stands
    #[arg(long, default_value = "BeforeToolUse")]
    point: String,
    /// The folder
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Lang {
    /// A shell script
    Sh,
    /// Python 3
    Python,
    /// TypeScript, run by Node 22.6 or newer
    Typescript,
    /// A WebAssembly module written in Rust
    RustWasm,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let Options { name, lang, dir, .. } = options;
    let fine = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || !name.chars().all(fine) || name.len() > 64 {
        bail!("`{name}` becomes the name of a file: use letters, digits, `-` and `_`, as in `no-secrets`");
    }
    if *lang == Lang::RustWasm && cfg!(not(feature = "wasm")) {
        bail!(
            "this program runs no modules, and a policy with one would not be read: build it with `--features wasm`, or \
             take another --lang"
        );
    }
    let Some(point) = point_named(&options.point) else {
        let meant = nearest(&options.point, POINTS.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
        bail!("there is no point `{}`{}", options.point, meant.unwrap_or_default());
    };
    let refuses = at_point(point, CanRefuse).unwrap_or(false);
    let (settings, cases) = (dir.join(FILE_NAME), dir.join("vertebra.test.toml"));
    let (written, tested) = (text_of(&settings)?, text_of(&cases)?);
    let place = settings.display().to_string();
    if parse(&written, Level::User, &place)?.settings.hooks.iter().any(|hook| hook.value.stand.name == *name) {
        bail!("{place} has a hook `{name}` already: take another name");
    }
    let written = with_block(&written, &entry(name, point, *lang));
    // Whatever is appended must be as good as what was there.
    parse(&written, Level::User, &place)?;
    let scripts = scripts(name, point, *lang, refuses);
    let mode = if matches!(lang, Lang::Sh | Lang::Python) { 0o755 } else { 0o644 };
    for (file, text) in &scripts {
        create(&dir.join(file), text, mode)?;
    }
    replace(&settings, &written)?;
    replace(&cases, &with_block(&tested, &case(name, point, refuses)))?;
    for (file, _) in &scripts {
        println!("{}", dir.join(file).display());
    }
    println!("{}: [[hook]] {name}\n{}: a case\n", settings.display(), cases.display());
    if *lang == Lang::RustWasm {
        println!(
            "Build it: cargo build --release --target wasm32-unknown-unknown --manifest-path {}",
            dir.join("hooks").join(name).join("Cargo.toml").display()
        );
    }
    println!(
        "Try it:   vertebra hooks test --config {}{}",
        settings.display(),
        if dir == Path::new(".") { String::new() } else { format!(" {}", cases.display()) }
    );
    println!("Then:     vertebra trust");
    Ok(ExitCode::SUCCESS)
}

/// Whether something can be refused at a point.
struct CanRefuse;

impl Visit for CanRefuse {
    type Out = bool;

    fn at<P: Outside>(self, _: P) -> bool {
        Reply::verdict("deny", "reason", "no").verdict_at::<P>().is_ok()
    }
}

fn entry(name: &str, point: &str, lang: Lang) -> String {
    let run = match lang {
        Lang::Sh => format!("command = \"./hooks/{name}.sh\""),
        Lang::Python => format!("command = \"python3 hooks/{name}.py\""),
        Lang::Typescript => format!("command = \"node --experimental-strip-types --no-warnings hooks/{name}.ts\""),
        Lang::RustWasm => {
            let module = name.replace('-', "_");
            format!("wasm = \"hooks/{name}/target/wasm32-unknown-unknown/release/{module}.wasm\"")
        }
    };
    format!("[[hook]]\nname = \"{name}\"\npoint = \"{point}\"\nrun = {{ {run} }}\n")
}

fn case(name: &str, point: &str, refuses: bool) -> String {
    let mark = mark(name);
    let event = if point == "BeforeToolUse" || point == "PermissionRequest" {
        format!("{{ point = \"{point}\", tool = \"bash\", args = {{ command = \"echo {mark}\" }} }}")
    } else {
        format!("{{ point = \"{point}\", agent = \"{mark}\" }}")
    };
    let expected = if refuses {
        format!("reason = \"{name} says no\"\ndecided_by = \"{name}\"")
    } else {
        format!("context = [\"{name} was here\"]")
    };
    format!("[[case]]\nname = \"{name} finds what it looks for\"\nevent = {event}\n{expected}\n")
}

/// The files of a hook: their names and what they say.
fn scripts(name: &str, point: &str, lang: Lang, refuses: bool) -> Vec<(String, String)> {
    let answer = if refuses {
        format!("{{\"verdict\": \"deny\", \"reason\": \"{name} says no\"}}")
    } else {
        format!("{{\"context\": \"{name} was here\"}}")
    };
    let filled = |template: &str| {
        template
            .replace("{{name}}", name)
            .replace("{{point}}", point)
            .replace("{{mark}}", &mark(name))
            .replace("{{answer}}", &answer)
            .replace("{{module}}", &name.replace('-', "_"))
    };
    match lang {
        Lang::Sh => vec![(format!("hooks/{name}.sh"), filled(include_str!("hook.sh")))],
        Lang::Python => vec![(format!("hooks/{name}.py"), filled(include_str!("hook.py")))],
        Lang::Typescript => vec![(format!("hooks/{name}.ts"), filled(include_str!("hook.ts")))],
        Lang::RustWasm => vec![
            (format!("hooks/{name}/Cargo.toml"), filled(include_str!("wasm.toml"))),
            (format!("hooks/{name}/src/lib.rs"), filled(include_str!("wasm.rs.txt"))),
        ],
    }
}
