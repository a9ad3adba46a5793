//! `vertebra hooks new`: creates a hook, its entry in vertebra.toml, and a test case that passes.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use vertebra::{Kind, Points};
use vertebra_bridge::settings::{FILE_NAME, HOOKS_FOLDER, Level, parse};

use super::file::{create, replace, text_of, with_block};

/// Returns the text that the generated hook looks for and the generated case contains. Hook names have no dots, so no other
/// generated hook finds it.
fn mark(name: &str) -> String {
    format!("forbidden.{name}.example")
}

/// The folder of modules with their sources. It is not among the scripts, whose folder is copied as a whole.
const MODULES_FOLDER: &str = ".vertebra/modules";

/// The file that the test case goes to.
const CASES: &str = "vertebra.test.toml";

/// The options of `vertebra hooks new`.
#[derive(clap::Args)]
#[command(after_help = "\
Creates a script in .vertebra/hooks/, adds a [[hook]] to vertebra.toml and a case to vertebra.test.toml. Existing entries are kept.

Examples:
  vertebra hooks new no-secrets --lang python
  vertebra hooks new greet --lang sh --point SessionStart")]
pub(crate) struct Options {
    /// Name of the hook
    #[arg(value_name = "NAME")]
    name: String,
    /// Language
    #[arg(long, value_enum)]
    lang: Lang,
    /// Point at which the hook runs
    #[arg(long, default_value = "BeforeToolUse")]
    point: String,
    /// Create the files in this folder
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
        bail!("invalid name `{name}`: it becomes a file name, so use letters, digits, `-` and `_`, as in `no-secrets`");
    }
    if *lang == Lang::RustWasm && cfg!(not(feature = "wasm")) {
        bail!(
            "this build of vertebra cannot run WebAssembly: build it with `--features wasm`, or choose another --lang"
        );
    }
    let (settings, cases) = (dir.join(FILE_NAME), dir.join(CASES));
    let (written, tested) = (text_of(&settings)?, text_of(&cases)?);
    let place = settings.display().to_string();
    let settings_now = parse(&written, Level::User, &place)?.settings;
    let mut points = Points::default();
    settings_now.points.iter().try_for_each(|said| points.add(said.value))?;
    let point = points.named(&options.point)?.row();
    let (refuses, point) = (point.powers.contains(&Kind::Deny), point.name);
    if settings_now.hooks.iter().any(|hook| hook.value.stand.name == *name) {
        bail!("{place} already has a hook `{name}`: choose another name");
    }
    let written = with_block(&written, &entry(name, point, *lang));
    // The result must still be valid.
    parse(&written, Level::User, &place)?;
    let scripts = scripts(name, point, *lang, refuses);
    let mode = if matches!(lang, Lang::Sh | Lang::Python) { 0o755 } else { 0o644 };
    for (file, text) in &scripts {
        create(&dir.join(file), text, mode)?;
    }
    replace(&settings, &written)?;
    replace(&cases, &with_block(&tested, &case(name, point, refuses)))?;
    let mut out = std::io::stdout();
    for (file, _) in &scripts {
        writeln!(out, "Created {}", shown(dir, file))?;
    }
    writeln!(out, "Added   [[hook]] {name} to {}", shown(dir, FILE_NAME))?;
    writeln!(out, "Added   a test case to {}\n", shown(dir, CASES))?;
    if *lang == Lang::RustWasm {
        writeln!(
            out,
            "Build it: cargo build --release --target wasm32-unknown-unknown --manifest-path {}",
            shown(dir, &format!("{MODULES_FOLDER}/{name}/Cargo.toml"))
        )?;
    }
    writeln!(
        out,
        "Test it:  vertebra hooks test --config {}{}",
        shown(dir, FILE_NAME),
        if dir == Path::new(".") { String::new() } else { format!(" {}", shown(dir, CASES)) }
    )?;
    writeln!(out, "Trust it: vertebra trust")?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of a file as the person would type it: without `./` in the current folder.
fn shown(dir: &Path, file: &str) -> String {
    if dir == Path::new(".") { file.to_owned() } else { dir.join(file).display().to_string() }
}

fn entry(name: &str, point: &str, lang: Lang) -> String {
    let run = match lang {
        Lang::Sh => format!("command = \"./{HOOKS_FOLDER}/{name}.sh\""),
        Lang::Python => format!("command = \"python3 {HOOKS_FOLDER}/{name}.py\""),
        Lang::Typescript => {
            format!("command = \"node --experimental-strip-types --no-warnings {HOOKS_FOLDER}/{name}.ts\"")
        }
        Lang::RustWasm => {
            let module = name.replace('-', "_");
            format!("wasm = \"{MODULES_FOLDER}/{name}/target/wasm32-unknown-unknown/release/{module}.wasm\"")
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
        format!("reason = \"{mark} is not allowed\"\ndecided_by = \"{name}\"")
    } else {
        format!("context = [\"added by {name}\"]")
    };
    format!("[[case]]\nname = \"{name} finds its test text\"\nevent = {event}\n{expected}\n")
}

/// Returns the files of a hook: names and contents.
fn scripts(name: &str, point: &str, lang: Lang, refuses: bool) -> Vec<(String, String)> {
    let answer = if refuses {
        format!("{{\"verdict\": \"deny\", \"reason\": \"{} is not allowed\"}}", mark(name))
    } else {
        format!("{{\"context\": \"added by {name}\"}}")
    };
    let exit = if refuses {
        "Exit code 2 denies, with standard error as the reason. Any other exit code except 0 is a failure."
    } else {
        "Any exit code except 0 is a failure."
    };
    let filled = |template: &str| {
        template
            .replace("{{exit}}", exit)
            .replace("{{name}}", name)
            .replace("{{point}}", point)
            .replace("{{mark}}", &mark(name))
            .replace("{{answer}}", &answer)
            .replace("{{module}}", &name.replace('-', "_"))
    };
    match lang {
        Lang::Sh => vec![(format!("{HOOKS_FOLDER}/{name}.sh"), filled(include_str!("hook.sh")))],
        Lang::Python => vec![(format!("{HOOKS_FOLDER}/{name}.py"), filled(include_str!("hook.py")))],
        Lang::Typescript => vec![(format!("{HOOKS_FOLDER}/{name}.ts"), filled(include_str!("hook.ts")))],
        Lang::RustWasm => vec![
            (format!("{MODULES_FOLDER}/{name}/Cargo.toml"), filled(include_str!("wasm.toml"))),
            (format!("{MODULES_FOLDER}/{name}/src/lib.rs"), filled(include_str!("wasm.rs.txt"))),
        ],
    }
}
