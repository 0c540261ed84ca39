#include "reports/commands.hpp"

int main(int argc, char** argv) { return assay::run_assay(argc, argv); }
