#ifndef FACTOR
#define FACTOR 3.0
#endif
