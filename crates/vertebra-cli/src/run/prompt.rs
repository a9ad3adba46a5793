//! The prompt of a run: the task, standard input, files and images.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use vertebra::{Image, Prompt};

/// The largest standard input or text file that a prompt takes.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// The largest image that a prompt takes.
const MAX_IMAGE_BYTES: u64 = 10 << 20;
/// How long to wait for standard input before saying so.
const PATIENCE: Duration = Duration::from_secs(2);

/// Builds the prompt from the task, standard input and the attached files.
pub(super) fn prompt(task: &[String], files: &[PathBuf], images: &[PathBuf]) -> anyhow::Result<Prompt> {
    let is_dash = matches!(task, [dash] if dash == "-");
    let piped = if io::stdin().is_terminal() && !is_dash { String::new() } else { piped()? };
    let task = if is_dash { String::new() } else { task.join(" ") };
    let mut text = match (task.trim(), piped.trim()) {
        ("", "") if is_dash => bail!("no task given: `-` reads it from standard input, which is empty"),
        ("", "") => bail!(
            "no task given; pass one, as in `vertebra run \"fix the failing test\"`, or pipe it to standard input"
        ),
        ("", piped) => piped.to_owned(),
        (task, "") => task.to_owned(),
        (task, _) => format!("{task}\n\n<stdin>\n{}\n</stdin>", piped.trim_end()),
    };
    for file in files {
        let name = file.display();
        let contents = text_of(file).with_context(|| format!("--file {name}"))?;
        write!(text, "\n\n<file path=\"{name}\">\n{}\n</file>", contents.trim_end())?;
    }
    let mut prompt = Prompt::from(text);
    for file in images {
        prompt = prompt.image(image(file).with_context(|| format!("--image {}", file.display()))?);
    }
    Ok(prompt)
}

fn piped() -> anyhow::Result<String> {
    let (done, reading) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        if reading.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("waiting for standard input; add `< /dev/null` if there is none");
        }
    });
    let bytes = bounded(io::stdin().lock(), MAX_TEXT_BYTES).context("standard input");
    drop(done);
    String::from_utf8(bytes?).context("standard input is not UTF-8 text")
}

fn text_of(file: &Path) -> anyhow::Result<String> {
    let bytes = bounded(File::open(file)?, MAX_TEXT_BYTES)?;
    String::from_utf8(bytes).ok().context("not a text file; attach images with --image")
}

fn image(file: &Path) -> anyhow::Result<Image> {
    let bytes = bounded(File::open(file)?, MAX_IMAGE_BYTES)?;
    let media_type = media_type(&bytes).context("not an image; PNG, JPEG, GIF and WebP are supported")?;
    Ok(Image { media_type: media_type.into(), data: STANDARD.encode(bytes).into() })
}

/// Detects the media type from the first bytes. File names can be wrong.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn bounded(from: impl Read, limit: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= limit, "larger than the limit of {limit} bytes");
    Ok(bytes)
}
