# Run by ctest after its tests (CTestCustom.cmake in the build folder): the log of a run in which one failed is kept as
# Testing/failed-<time>.log.  The next run writes ctest's own log anew, and what fails once in a thousand times has to be
# explained from its output.
set(log Testing/Temporary/LastTest.log.tmp)  # the log's name while ctest still has it open
if(EXISTS ${log})
  file(STRINGS ${log} failures REGEX "^Test Failed\\.$" LIMIT_COUNT 1)
  if(failures)
    string(TIMESTAMP now "%Y-%m-%d-%H%M%S")
    file(COPY_FILE ${log} Testing/failed-${now}.log)
  endif()
endif()
