//! Standard output, and when it is gone.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use serde_json::{Map, Value, json};

use crate::cli::OutputForm;
use crate::failure::Failure;
use crate::output::SCHEMA_VERSION;

/// Standard output, buffered.
pub(crate) struct Console {
    form: OutputForm,
    out: BufWriter<Box<dyn Write + Send>>,
    gone: bool,
}

impl Console {
    /// Standard output in that form.
    pub(crate) fn new(form: OutputForm) -> Self {
        Self { form, out: BufWriter::with_capacity(64 << 10, Box::new(io::stdout())), gone: false }
    }

    /// In which form results are wanted.
    pub(crate) fn form(&self) -> OutputForm {
        self.form
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// Output cannot be written, for another reason than that its reader has gone.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.out.write_all(bytes);
        self.noticed(written)
    }

    /// Writes a line.
    ///
    /// # Errors
    /// As [`Console::bytes`].
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes a JSON object on a line of its own, with the schema version added.
    ///
    /// # Errors
    /// As [`Console::bytes`].
    pub(crate) fn json(&mut self, object: Value) -> Result<(), Failure> {
        self.line(&with_version(object).to_string())
    }

    /// Writes a result: the object in JSON, else the lines of `text`.
    ///
    /// # Errors
    /// As [`Console::bytes`].
    pub(crate) fn result(
        &mut self,
        object: Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.form {
            OutputForm::Json => self.line(&pretty(&with_version(object)))?,
            OutputForm::Text => self.line(text().trim_end_matches('\n'))?,
        }
        self.flush()
    }

    /// Hands everything on.
    ///
    /// # Errors
    /// As [`Console::bytes`].
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        self.noticed(flushed)
    }

    fn noticed(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Err(error) => Err(Failure::failed(format!("cannot write to standard output: {error}"))),
        }
    }
}

fn with_version(object: Value) -> Value {
    let Value::Object(fields) = object else { return object };
    let mut versioned = Map::from_iter([("schema_version".to_owned(), json!(SCHEMA_VERSION))]);
    versioned.extend(fields);
    Value::Object(versioned)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Writes to standard output while a lock is at hand; for pages that are printed once.
///
/// # Errors
/// As [`Console::bytes`].
pub(crate) fn print_page(page: &str) -> Result<(), Failure> {
    let mut out: StdoutLock<'_> = io::stdout().lock();
    match out.write_all(page.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
