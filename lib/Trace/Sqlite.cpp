//===- Sqlite.cpp - reading an SQLite file --------------------------------===//
#include "Sqlite.h"

using namespace layline::trace;

void Database::fail(const std::string &what) const {
  throw TraceError(path + ": " + what);
}

Database::Database(const std::string &path) : path(path) {
  if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) !=
      SQLITE_OK) {
    std::string reason = handle ? sqlite3_errmsg(handle) : "no memory";
    sqlite3_close(handle);
    fail(reason);
  }
}

Database::~Database() { sqlite3_close(handle); }

bool Database::hasTable(const std::string &table) const {
  Query query(*this, "SELECT 1 FROM sqlite_master WHERE type IN "
                     "('table', 'view') AND name = '" +
                         table + "'");
  return query.next();
}

bool Database::hasColumn(const std::string &table,
                         const std::string &column) const {
  Query query(*this, "SELECT 1 FROM pragma_table_info('" + table +
                         "') WHERE name = '" + column + "'");
  return query.next();
}

void Database::require(const std::string &table,
                       const std::vector<std::string> &columns) const {
  if (!hasTable(table))
    fail("found no table " + table +
         ", expected an SQLite export of Nsight Systems that traced CUDA");
  for (const std::string &column : columns)
    if (!hasColumn(table, column))
      fail("table " + table + ": found no column " + column +
           ", expected it in an export of Nsight Systems");
}

Query::Query(const Database &database, const std::string &sql)
    : database(database) {
  if (sqlite3_prepare_v2(database.handle, sql.c_str(), -1, &statement,
                         nullptr) != SQLITE_OK)
    database.fail(sqlite3_errmsg(database.handle));
}

Query::~Query() { sqlite3_finalize(statement); }

bool Query::next() {
  int status = sqlite3_step(statement);
  if (status != SQLITE_ROW && status != SQLITE_DONE)
    database.fail(sqlite3_errmsg(database.handle));
  ++row;
  return status == SQLITE_ROW;
}

bool Query::isNull(int column) const {
  return sqlite3_column_type(statement, column) == SQLITE_NULL;
}

int64_t Query::integer(int column, const char *what) const {
  if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
    database.fail(std::string(what) + ", row " + std::to_string(row) +
                  ": found '" + std::string(text(column)).substr(0, 40) +
                  "', expected a whole number");
  return sqlite3_column_int64(statement, column);
}

std::string_view Query::text(int column) const {
  const unsigned char *begin = sqlite3_column_text(statement, column);
  return begin ? std::string_view(reinterpret_cast<const char *>(begin),
                                  sqlite3_column_bytes(statement, column))
               : std::string_view();
}
