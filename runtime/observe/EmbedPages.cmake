# Puts pages/<name>.html, with pages/theme.css, pages/page.js and pages/<name>.js inside it, into a C++ source: the
# tool carries its pages with it and writes each as one file. Sets `out` to that source; the pages are read when CMake
# runs, and a changed page makes it run again.
function(evt_embed_pages out)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/pages)
  file(READ ${folder}/theme.css EVT_THEME)
  file(READ ${folder}/page.js EVT_PAGE_SCRIPT)
  set(definitions "")
  foreach(page IN LISTS ARGN)
    file(READ ${folder}/${page}.js EVT_SCRIPT)
    file(READ ${folder}/${page}.html EVT_HTML)
    string(CONFIGURE "${EVT_HTML}" EVT_HTML @ONLY)
    string(APPEND definitions "const std::string_view ${page}Page = R\"evtpage(${EVT_HTML})evtpage\";\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${page}.html ${folder}/${page}.js)
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/theme.css ${folder}/page.js)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/EmbeddedPages.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT
    "#include \"runtime/observe/Page.h\"\n\nnamespace evt::observe {\n@definitions@} // namespace evt::observe\n" @ONLY)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
