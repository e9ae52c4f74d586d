//! Files that a user wrote: reading them, and their mistakes with the lines that contain them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use pushmark_model::scenario::ScenarioError;

/// Largest scenario, registry or clients file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads a UTF-8 file.
///
/// # Errors
/// Fails if the file cannot be read or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, FileErrors> {
    let file = path.display().to_string();
    let fail = |error: ScenarioError| FileErrors::new(&file, "", vec![error]);
    let bytes = read_bytes(path).map_err(|error| fail(*error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let found =
            if utf16 { "UTF-16".to_owned() } else { format!("byte 0x{:02x} in line {line}", bytes[at]) };
        fail(ScenarioError::at("", "the file is not UTF-8").found(found).accepted("a UTF-8 text"))
    })
}

/// Reads a whole file of at most 64 MiB.
///
/// # Errors
/// Fails if it is missing, larger or a device.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Box<ScenarioError>> {
    let fail = |message: String| Box::new(ScenarioError::at("", message));
    match read_bounded(path) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(fail("the file is larger than 64 MiB".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut error = fail("there is no such file".to_owned());
            error.nearest = nearest_file(path);
            error.help = path.to_str().and_then(without_scheme);
            Err(error)
        }
        Err(error) => Err(fail(format!("the file cannot be read: {error}"))),
    }
}

/// Reads a whole file, or returns `None` if it is larger than [`FILE_BYTES_MAX`]. The read bytes are
/// counted, because a pipe has no size and a file may grow. Fails for a device.
fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    use std::os::unix::fs::FileTypeExt as _;

    let kind = path.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
        return Err(io::Error::other("it is a device or a socket; a file or a pipe is accepted"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes))
}

/// Returns advice for an address without a scheme, such as `127.0.0.1:9101/ws`.
fn without_scheme(text: &str) -> Option<String> {
    let (host, rest) = text.rsplit_once(':')?;
    let port = rest.split(['/', '?']).next().unwrap_or_default();
    let is_address = port.parse::<u16>().is_ok() && !host.is_empty() && !host.contains('/');
    is_address.then(|| format!("a URL begins with its scheme: ws://{text} or http://{text}"))
}

/// Returns the file in the same folder with the nearest name.
fn nearest_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let names: Vec<String> = std::fs::read_dir(folder.unwrap_or(Path::new(".")))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let wanted = path.file_name()?.to_str()?;
    let name = pushmark_model::scenario::nearest(wanted, names.iter().map(String::as_str))?;
    Some(folder.map_or(name.clone(), |folder| folder.join(&name).display().to_string()))
}

/// The mistakes in a file. Exit code 2.
#[derive(Clone, Debug)]
pub struct FileErrors {
    /// The file's name.
    pub file: String,
    /// Its text; empty if it could not be read.
    pub text: String,
    /// All mistakes, in the order of the file; at least one.
    pub errors: Vec<ScenarioError>,
}

impl FileErrors {
    /// Makes a report of the mistakes in a file.
    pub fn new(file: &str, text: &str, errors: Vec<ScenarioError>) -> FileErrors {
        FileErrors { file: file.to_owned(), text: text.to_owned(), errors }
    }

    /// Renders the errors with the lines that contain them, `width` columns wide.
    pub fn render(&self, colors: bool, width: usize) -> String {
        let theme = if colors { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_context_lines(1)
            .with_width(width)
            .without_syntax_highlighting();
        let source = NamedSource::new(&self.file, self.text.clone());
        let mut out = String::new();
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            let shown = Shown { error, file: &self.file, source: &source };
            handler.render_report(&mut out, &shown).expect("writing to memory");
        }
        // Lines end where their text does.
        out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false, 100).trim_end())
    }
}

impl std::error::Error for FileErrors {}

/// One error, as miette shows it.
#[derive(Debug)]
struct Shown<'r> {
    error: &'r ScenarioError,
    file: &'r str,
    source: &'r NamedSource<String>,
}

impl Shown<'_> {
    fn span(&self) -> Option<std::ops::Range<usize>> {
        self.error.span.clone().filter(|span| !span.is_empty())
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.span().is_none() && self.error.flag.is_none() {
            write!(f, "{}: ", self.file)?;
        }
        write!(f, "{}", self.error)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        // Without a line to mark, the label of the mark goes into the advice.
        let label = self.span().is_none().then(|| self.error.label()).filter(|label| label != "here");
        let lines: Vec<String> = label.into_iter().chain(self.error.advice()).collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.span().is_some().then_some(self.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.error.label()), self.span()?);
        Some(Box::new(std::iter::once(label)))
    }
}
