//! A manual page: that of clap_mangen, with a synopsis, examples and an exit status in the usual
//! form.

use std::io::{self, Write};

use clap::{Arg, ArgAction, Command};
use clap_mangen::Man as Page;

/// The page of `command`. `whole` is the program of the command.
pub(super) fn page(command: &Command, whole: &Command) -> io::Result<Vec<u8>> {
    let version = whole.get_version().unwrap_or_default();
    let page = Page::new(command.clone())
        .source(format!("{} {version}", whole.get_name()))
        .manual("Broadleaf");
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    // Lines are not stretched to the right margin: some hold a default value without a space.
    out.extend_from_slice(b".ad l\n");
    page.render_name_section(&mut out)?;
    synopsis(command, &mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut out)?;
    }
    let own = sections(command);
    for (heading, lines) in &own {
        literal(heading, lines, &mut out)?;
    }
    // A command without a section of its own has the exit statuses of the program.
    let is_said = own.iter().any(|(heading, _)| heading == EXIT_STATUS);
    let of_all = sections(whole);
    let of_all = of_all.iter().find(|(heading, _)| heading == EXIT_STATUS);
    if let Some((heading, lines)) = of_all.filter(|_| !is_said) {
        literal(heading, lines, &mut out)?;
    }
    Ok(out)
}

const EXIT_STATUS: &str = "EXIT STATUS";

/// Writes the synopsis, with the values of options, which clap_mangen leaves out.
fn synopsis(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    write!(out, ".SH SYNOPSIS\n\\fB{}\\fR", escaped(name))?;
    let shown = |argument: &&Arg| {
        let is_everywhere = matches!(
            argument.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        );
        !argument.is_hide_set() && !is_everywhere
    };
    for option in command
        .get_opts()
        .chain(command.get_arguments().filter(is_flag))
        .filter(shown)
    {
        write!(out, " {}", in_brackets(option, &option_text(option)))?;
    }
    for positional in command.get_positionals() {
        let dashes = if positional.is_last_set() {
            "\\-\\- "
        } else {
            ""
        };
        let text = format!("{dashes}{}{}", values(positional), dots(positional));
        write!(out, " {}", in_brackets(positional, &text))?;
    }
    if command.has_subcommands() {
        write!(out, " \\fICOMMAND\\fR ...")?;
    }
    writeln!(out)
}

/// Returns true if an argument is an option without a value.
fn is_flag(argument: &&Arg) -> bool {
    !argument.is_positional() && !argument.get_action().takes_values()
}

fn option_text(option: &Arg) -> String {
    let short = option.get_short().map(|short| format!("\\-{short}"));
    let long = option
        .get_long()
        .map(|long| format!("\\-\\-{}", escaped(long)));
    let names: Vec<String> = short
        .into_iter()
        .chain(long)
        .map(|name| format!("\\fB{name}\\fR"))
        .collect();
    let values = if option.get_action().takes_values() {
        format!(" {}", values(option))
    } else {
        String::new()
    };
    format!("{}{values}", names.join("|"))
}

fn values(argument: &Arg) -> String {
    let names: Vec<String> = match argument.get_value_names() {
        Some(names) => names.iter().map(|name| escaped(name)).collect(),
        None => vec![escaped(&argument.get_id().as_str().to_uppercase())],
    };
    format!("\\fI{}\\fR", names.join(" "))
}

/// Puts an argument that is not required in brackets. Dots follow an argument that may be repeated.
fn in_brackets(argument: &Arg, text: &str) -> String {
    if argument.is_required_set() {
        text.to_owned()
    } else if argument.is_positional() {
        format!("[{text}]")
    } else {
        format!("[{text}]{}", dots(argument))
    }
}

fn dots(argument: &Arg) -> &'static str {
    match argument.get_action() {
        ArgAction::Append => "...",
        _ => "",
    }
}

/// The sections of the help below the options: headings in upper case, with the indented lines
/// below them. Text without a heading is a note.
fn sections(command: &Command) -> Vec<(String, Vec<String>)> {
    let help = command
        .get_after_long_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_open = false;
    for line in help.lines() {
        if line.starts_with(' ') || line.is_empty() {
            if let Some((_, lines)) = sections.last_mut() {
                lines.push(line.strip_prefix("  ").unwrap_or(line).to_owned());
            }
            is_open &= !line.is_empty();
        } else if let Some(heading) = line.strip_suffix(':') {
            sections.push((heading.to_uppercase(), Vec::new()));
            is_open = false;
        } else if is_open && let Some((_, lines)) = sections.last_mut() {
            lines.push(line.to_owned());
        } else {
            sections.push(("NOTES".to_owned(), vec![line.to_owned()]));
            is_open = true;
        }
    }
    for (_, lines) in &mut sections {
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
    }
    sections
}

/// Writes a section whose lines stay as they are.
fn literal(heading: &str, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ".SH \"{heading}\"")?;
    let is_prose = heading == "NOTES";
    if !is_prose {
        writeln!(out, ".nf")?;
    }
    for line in lines {
        let line = escaped(line);
        // A request to the formatter begins with one of these.
        let guard = if line.starts_with(['.', '\'']) {
            "\\&"
        } else {
            ""
        };
        writeln!(out, "{guard}{line}")?;
    }
    if !is_prose {
        writeln!(out, ".fi")?;
    }
    Ok(())
}

/// Escapes text for the formatter.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}
