# cmake -DFILES=<a,b,...> -DOUT=<file> -P JoinFiles.cmake
# Writes the files one behind another.
string(REPLACE "," ";" files "${FILES}")
file(WRITE "${OUT}" "")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  file(APPEND "${OUT}" "${text}")
endforeach()
