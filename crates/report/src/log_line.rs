//! Messages as objects of JSON, for programs that collect logs.

use std::time::SystemTime;

use log::kv::{Error, Key, Value, VisitSource, VisitValue};
use log::{Level, Record};
use serde_json::{Map, Number, Value as Json};

/// A line with one JSON object: the fields of `record`, its `level`, its `message`, and the `time`
/// `now` in UTC.
pub fn log_line(record: &Record<'_>, now: SystemTime) -> String {
    let mut object = Fields(Map::new());
    // A field that could not be read is left out: the message says the same in words.
    let _ = record.key_values().visit(&mut object);
    let Fields(mut object) = object;
    let level = match record.level() {
        Level::Error => "error",
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    };
    let time = humantime::format_rfc3339_millis(now).to_string();
    object.insert("time".to_owned(), time.into());
    object.insert("level".to_owned(), level.into());
    object.insert("message".to_owned(), record.args().to_string().into());
    format!("{}\n", Json::Object(object))
}

/// The fields of a record.
struct Fields(Map<String, Json>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let mut field = Field(Json::Null);
        value.visit(&mut field)?;
        self.0.insert(key.to_string(), field.0);
        Ok(())
    }
}

/// The value of a field.
struct Field(Json);

impl VisitValue<'_> for Field {
    fn visit_any(&mut self, value: Value<'_>) -> Result<(), Error> {
        self.0 = value.to_string().into();
        Ok(())
    }

    fn visit_null(&mut self) -> Result<(), Error> {
        self.0 = Json::Null;
        Ok(())
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
        self.0 = Number::from_f64(value).map_or(Json::Null, Json::Number);
        Ok(())
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_object_on_one_line_with_its_fields() {
        let fields = [
            ("pid", Value::from(7_u32)),
            ("share", Value::from(0.5)),
            ("dry_run", Value::from(true)),
            ("command", Value::from("a \"b\"\n")),
            // The time of the line is its own.
            ("time", Value::from("never")),
        ];
        let record = Record::builder()
            .level(Level::Warn)
            .args(format_args!("two\nlines"))
            .key_values(&fields)
            .build();
        let line = log_line(&record, SystemTime::now());
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let found: Json = serde_json::from_str(&line).unwrap();
        let time = found["time"].as_str().unwrap();
        assert!(humantime::parse_rfc3339(time).is_ok(), "{time}");
        let mut rest = found.clone();
        rest.as_object_mut().unwrap().remove("time");
        let expected = serde_json::json!({
            "level": "warn", "message": "two\nlines", "pid": 7, "share": 0.5, "dry_run": true,
            "command": "a \"b\"\n",
        });
        assert_eq!(rest, expected);
    }
}
