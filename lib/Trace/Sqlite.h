//===- Sqlite.h - reading an SQLite file ------------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_SQLITE_H
#define LAYLINE_LIB_TRACE_SQLITE_H

#include "layline/Trace/Trace.h"
#include <sqlite3.h>
#include <string_view>

namespace layline::trace {

/// A file that is only read. All of it throws TraceError.
class Database {
public:
  explicit Database(const std::string &path);
  ~Database();
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;

  bool hasTable(const std::string &table) const;
  bool hasColumn(const std::string &table, const std::string &column) const;
  /// Throws if the table or one of its columns is not there.
  void require(const std::string &table,
               const std::vector<std::string> &columns) const;
  [[noreturn]] void fail(const std::string &what) const;

private:
  friend class Query;
  std::string path;
  sqlite3 *handle = nullptr;
};

/// The rows of a SELECT, one after another.
class Query {
public:
  Query(const Database &database, const std::string &sql);
  ~Query();
  Query(const Query &) = delete;
  Query &operator=(const Query &) = delete;

  /// Goes to the next row; false behind the last.
  bool next();
  bool isNull(int column) const;
  /// `what` names the place in messages: "CUPTI_ACTIVITY_KIND_KERNEL.start".
  int64_t integer(int column, const char *what) const;
  /// Empty for NULL. Valid until the next row.
  std::string_view text(int column) const;

private:
  const Database &database;
  sqlite3_stmt *statement = nullptr;
  int64_t row = 0;
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_SQLITE_H
