//! The prompt of a run: the task, standard input, files and images.

use std::{
    fs::{self, File},
    io::{self, IsTerminal as _, Read, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use vertebra::{Image, Prompt};

/// The largest standard input or text file that a prompt takes.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// The largest image that a prompt takes.
const MAX_IMAGE_BYTES: u64 = 10 << 20;
/// How long to wait for standard input before saying so.
const PATIENCE: Duration = Duration::from_secs(2);

/// The share of the model's window that standard input and files may fill.
const SHARE: u64 = 2;
/// About how many bytes a token has.
const TOKEN: u64 = 4;

/// The task, standard input, files and images, as the user gave them.
pub(super) struct Given {
    task: String,
    texts: Vec<Attached>,
    images: Vec<Image>,
}

/// A prompt, and what did not fit into it.
pub(super) struct Fitted {
    pub(super) prompt: Prompt,
    /// What was left out, for the user.
    pub(super) left_out: Vec<String>,
    /// The whole texts that were cut, each with what the user calls it.
    pub(super) cut: Vec<(String, String)>,
}

impl Fitted {
    /// Saves the texts that were cut as files in a private folder of the session, and tells the model where they are.
    pub(super) fn saved_in(mut self, folder: &Path) -> io::Result<Prompt> {
        for (number, (name, text)) in (1..).zip(&self.cut) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let path = folder.join(format!("input-{number}.txt"));
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())?;
            let told = format!("\n\n[{name} is whole in {}; read_file reads it]", path.display());
            self.prompt.text.push_str(&told);
        }
        Ok(self.prompt)
    }
}

/// A text besides the task.
struct Attached {
    /// What the user calls it.
    name: String,
    /// What stands before and after it.
    around: (String, &'static str),
    text: String,
}

/// Reads the task, standard input and the attached files.
pub(super) fn given(task: &[String], files: &[PathBuf], images: &[PathBuf]) -> anyhow::Result<Given> {
    let is_dash = matches!(task, [dash] if dash == "-");
    let piped = if io::stdin().is_terminal() && !is_dash { String::new() } else { piped()? };
    let task = if is_dash { String::new() } else { task.join(" ").trim().to_owned() };
    let mut texts = Vec::new();
    if !piped.trim().is_empty() {
        let around = if task.is_empty() { (String::new(), "") } else { ("<stdin>\n".to_owned(), "\n</stdin>") };
        let text = if task.is_empty() { piped.trim() } else { piped.trim_end() };
        texts.push(Attached { name: "standard input".to_owned(), around, text: text.to_owned() });
    }
    if is_dash && texts.is_empty() {
        bail!("no task given: `-` reads it from standard input, which is empty");
    }
    if task.is_empty() && texts.is_empty() {
        bail!("no task given; pass one, as in `vertebra run \"fix the failing test\"`, or pipe it to standard input");
    }
    for file in files {
        let name = file.display().to_string();
        let contents = text_of(file).with_context(|| format!("--file {name}"))?;
        let around = (format!("<file path=\"{name}\">\n"), "\n</file>");
        texts.push(Attached { name, around, text: contents.trim_end().to_owned() });
    }
    let image = |file: &PathBuf| image(file).with_context(|| format!("--image {}", file.display()));
    let images = images.iter().map(image).collect::<anyhow::Result<_>>()?;
    Ok(Given { task, texts, images })
}

impl Given {
    /// Returns the prompt for a model that reads so many tokens.
    pub(super) fn prompt(self, window: u64) -> Fitted {
        let room = usize::try_from(window / SHARE * TOKEN).unwrap_or(usize::MAX);
        let (mut left_out, mut cut) = (Vec::new(), Vec::new());
        let shares = shares(room, &self.texts.iter().map(|attached| attached.text.len()).collect::<Vec<_>>());
        let mut parts = vec![self.task].into_iter().filter(|task| !task.is_empty()).collect::<Vec<_>>();
        for (Attached { name, around: (before, after), text }, share) in self.texts.into_iter().zip(shares) {
            let text = match shortened(&text, share) {
                None => text,
                Some(short) => {
                    let what = format!("{} of {} bytes", short.bytes, text.len());
                    let lines = format!("{} of {} lines", short.lines, text.lines().count());
                    left_out.push(format!(
                        "{name} is too long for the model, which reads about {window} tokens: {what} ({lines}) in the \
                         middle were left out; it can read the whole in a file"
                    ));
                    cut.push((name, text));
                    short.text
                }
            };
            parts.push(format!("{before}{text}{after}"));
        }
        let prompt = Prompt::from(parts.join("\n\n"));
        Fitted { prompt: self.images.into_iter().fold(prompt, Prompt::image), left_out, cut }
    }
}

/// Returns how many bytes of each text fit into the room: short texts fit whole, and long ones share the rest.
fn shares(room: usize, sizes: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&at| sizes[at]);
    let (mut shares, mut left) = (vec![0; sizes.len()], room);
    for (done, at) in order.into_iter().enumerate() {
        shares[at] = sizes[at].min(left / (sizes.len() - done));
        left -= shares[at];
    }
    shares
}

/// A text without its middle.
struct Shortened {
    text: String,
    /// What was left out.
    bytes: usize,
    lines: usize,
}

/// Returns the first and the last lines of a text that does not fit, two thirds from its start.
fn shortened(text: &str, room: usize) -> Option<Shortened> {
    if text.len() <= room {
        return None;
    }
    let head = &text[..text.floor_char_boundary(room / 3 * 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 3)..];
    // Whole lines, unless one of them is longer than all that fits.
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let tail = tail.find('\n').map_or(tail, |end| &tail[end + 1..]);
    let (bytes, middle) = (text.len() - head.len() - tail.len(), &text[head.len()..text.len() - tail.len()]);
    let lines = middle.lines().count();
    let text = format!("{head}\n[{bytes} bytes in {lines} lines left out here]\n\n{tail}");
    Some(Shortened { text, bytes, lines })
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn with(texts: &[(&str, String)]) -> Given {
        let attached = |(name, text): &(&str, String)| Attached {
            name: (*name).to_owned(),
            around: (format!("<{name}>\n"), "\n<end>"),
            text: text.clone(),
        };
        Given { task: "look".to_owned(), texts: texts.iter().map(attached).collect(), images: Vec::new() }
    }

    #[test]
    fn what_fits_is_passed_on_whole_and_nothing_is_announced() {
        let Fitted { prompt, left_out, .. } = with(&[("a", "one\ntwo".to_owned())]).prompt(100);
        assert_eq!((&*prompt.text, left_out), ("look\n\n<a>\none\ntwo\n<end>", Vec::new()));
    }

    #[test]
    fn what_does_not_fit_loses_whole_lines_in_its_middle_and_the_numbers_are_true() {
        let mut long = String::new();
        (0..10_000).for_each(|line| writeln!(long, "line {line:05}").expect("a string takes everything"));
        let Fitted { prompt, left_out, .. } =
            with(&[("short", "kept".to_owned()), ("long", long.clone())]).prompt(3000);
        let (_, rest) = prompt.text.split_once("<long>\nline 00000\n").expect("its beginning");
        let (head, rest) = rest.split_once("\n[").expect("a mark");
        let (mark, tail) = rest.split_once(" left out here]\n\n").expect("a mark");
        assert!(prompt.text.contains("<short>\nkept\n<end>") && tail.ends_with("line 09999\n\n<end>"), "{tail}");
        let kept = "line 00000\n".len() + head.len() + tail.len() - "\n<end>".len();
        let lines = 1 + head.lines().count() + tail.lines().count() - 2;
        assert_eq!(mark, format!("{} bytes in {} lines", long.len() - kept, 10_000 - lines));
        let expected = format!(
            "long is too long for the model, which reads about 3000 tokens: {} of 110000 bytes ({} of 10000 lines) in the \
             middle were left out; it can read the whole in a file",
            long.len() - kept,
            10_000 - lines
        );
        assert_eq!(left_out, [expected]);
        assert!(prompt.text.len() <= 3000 / 2 * 4 + 200, "{}", prompt.text.len());
    }

    #[test]
    fn one_line_that_is_too_long_is_cut_between_characters() {
        let Fitted { prompt, left_out, .. } = with(&[("x", "é".repeat(10_000))]).prompt(400);
        assert_eq!(left_out.len(), 1);
        assert!(prompt.text.len() < 1200, "{}", prompt.text.len());
    }
}
