#include <boost/json/src.hpp>  // the library itself, compiled once
