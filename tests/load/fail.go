package main

// failure ends a run: what is half measured is no figure, so nothing here goes
// on after an error. check and must panic with one; attempt stops it, at the
// top of the run, of each goroutine and of what is tried again.
type failure struct{ error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func attempt(do func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			f, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = f.error
		}
	}()
	do()
	return nil
}
