#include "reports/page/parts.hpp"
#include "reports/page_texts.hpp"

namespace assay::page {

const char* style() { return page_css.data(); }
const char* script() { return page_js.data(); }

}  // namespace assay::page
