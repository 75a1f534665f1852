int ext_one(int);
int ext_two(int);
int caller(int x) { return ext_one(x) + ext_two(x); }
