//! The source lines of variables with fixed addresses, from DWARF debug information.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Operation, Unit,
};
use object::{Object, ObjectSection};

use super::object_file::elf_bytes;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The place of a variable's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariablePlace {
    pub(super) file: String,
    pub(super) line: u32,
}

/// Returns the places of a file's variables by address. Returns `None` if the debug information
/// cannot be read.
pub(super) fn variable_places(path: &Path) -> Option<BTreeMap<u64, VariablePlace>> {
    let bytes = elf_bytes(path)?;
    let file = object::File::parse(&*bytes).ok()?;
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section
            .and_then(|section| section.uncompressed_data().ok())
            .unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut places = BTreeMap::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // A unit that cannot be read leaves its variables without lines.
        if let Ok(unit) = dwarf.unit(header) {
            let _ = read_unit(&dwarf, &unit, &mut places);
        }
    }
    Some(places)
}

fn read_unit(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    places: &mut BTreeMap<u64, VariablePlace>,
) -> gimli::Result<()> {
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if entry.tag() != gimli::DW_TAG_variable {
            continue;
        }
        let Some(address) = fixed_address(dwarf, unit, entry)? else {
            continue;
        };
        if let Some(place) = place(dwarf, unit, entry)? {
            places.insert(address, place);
        }
    }
    Ok(())
}

/// The address of a variable whose location is one constant.
fn fixed_address(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    entry: &DebuggingInformationEntry<Slice<'_>>,
) -> gimli::Result<Option<u64>> {
    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location) else {
        return Ok(None);
    };
    let mut operations = expression.operations(unit.encoding());
    Ok(match operations.next()? {
        Some(Operation::Address { address }) => Some(address),
        Some(Operation::AddressIndex { index }) => Some(dwarf.address(unit, index)?),
        _ => None,
    })
}

/// The line of a variable. A static member of a class has it in its declaration.
fn place(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    entry: &DebuggingInformationEntry<Slice<'_>>,
) -> gimli::Result<Option<VariablePlace>> {
    let line = entry
        .attr_value(gimli::DW_AT_decl_line)
        .and_then(|line| line.udata_value());
    let Some(line) = line else {
        return match entry.attr_value(gimli::DW_AT_specification) {
            Some(AttributeValue::UnitRef(declaration)) => {
                let declaration = unit.entry(declaration)?;
                let is_variable = declaration.attr_value(gimli::DW_AT_decl_line).is_some();
                is_variable
                    .then(|| place(dwarf, unit, &declaration))
                    .transpose()
                    .map(Option::flatten)
            }
            _ => Ok(None),
        };
    };
    let number = match entry.attr_value(gimli::DW_AT_decl_file) {
        Some(AttributeValue::FileIndex(number)) => number,
        Some(value) => value.udata_value().unwrap_or(0),
        None => return Ok(None),
    };
    let Some(file) = file_name(dwarf, unit, number)? else {
        return Ok(None);
    };
    let line = u32::try_from(line).unwrap_or(0);
    Ok(Some(VariablePlace { file, line }))
}

/// The path of a source file, by its number in the unit.
fn file_name(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    number: u64,
) -> gimli::Result<Option<String>> {
    let Some(program) = &unit.line_program else {
        return Ok(None);
    };
    let header = program.header();
    let Some(file) = header.file(number) else {
        return Ok(None);
    };
    let text = |value| -> gimli::Result<String> {
        let text = dwarf.attr_string(unit, value)?;
        Ok(text.to_string_lossy().into_owned())
    };
    let mut path = match unit.comp_dir {
        Some(folder) => Path::new(&*folder.to_string_lossy()).to_owned(),
        None => Path::new("").to_owned(),
    };
    if let Some(folder) = file.directory(header) {
        path.push(text(folder)?);
    }
    path.push(text(file.path_name())?);
    Ok(Some(path.to_string_lossy().into_owned()))
}
